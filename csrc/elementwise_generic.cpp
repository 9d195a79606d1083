// Elementary functions for the instruction set "generic"; setup.py gives this file its flags.
#include "elementwise_loops.h"

const tp::ElementwiseSet& tp::elementwise_generic() { return set; }
