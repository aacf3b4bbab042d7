// replaced by the room's own sources
