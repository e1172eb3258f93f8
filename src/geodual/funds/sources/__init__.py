"""Where net asset values come from: files, the network, and a synthetic universe."""
