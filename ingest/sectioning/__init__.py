"""How a body is cut into sections by form: the words of each language, the classes of lines, and the cuts."""
