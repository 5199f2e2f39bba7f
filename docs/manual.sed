# Turns a page of this folder into the Markdown of a manual page (MARKDOWN_MANUALS in Makefile). The
# first line has the page's name and summary, the title becomes DESCRIPTION, and all other headings
# rise by one level; those of the first level are in capitals, as manual pages have them.
1 {
    s/^<!-- \(.*\)([1-8]): \(.*\) -->$/# NAME\n\n\1 - \2\n/
    b
}
/^```/,/^```/b
s/^# .*/# DESCRIPTION/
s/^## .*/\U&/
s/^##/#/
