"""Records of a world: references first, then values; and some on both sides of each rule."""
