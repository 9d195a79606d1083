"""From a captured graph to operator graphs: recording, joint graph, partition, composition."""
