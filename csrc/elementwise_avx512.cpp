// Elementary functions for the instruction set "avx512"; setup.py gives this file its flags.
#if defined(__x86_64__)
#include "elementwise_loops.h"

const tp::ElementwiseSet& tp::elementwise_avx512() { return set; }
#endif
