"""The sources of net asset values: files, the network, and a synthetic universe."""
