"""Tables of other papers under their own rules."""
