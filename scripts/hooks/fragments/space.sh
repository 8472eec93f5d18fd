# The lines about what takes the space, which softquota's worker keeps in the repository: so nobody but those who
# may read the repository is shown them. The first line is not shown.
space=softquota-space

# Puts these lines into $text, the refusal of a push: in front of those about the repository, so that the last
# line still says whom to ask. A file that nobody has renewed for two days is left out.
add_space() {
	[ -n "$text" ] && [ -f "$space" ] && ! [ -h "$space" ] || return 0
	[ -n "$(become find "$space" -prune -type f -size -9 -mtime -2)" ] || return 0
	takers=$( (become sed -e 1d -e 6q "$space" | printable) 2>/dev/null)
	[ -n "$takers" ] || return 0
	first=${text%%"${nl}This repository: "*}
	text=$first$nl$takers${text#"$first"}
}
