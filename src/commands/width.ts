/**
 * Number of columns that a text in any script takes on a terminal.
 *
 * A file of its own in the bundle: loading the library takes a fifth of the time of a command, and few texts
 * need it.
 */

import stringWidth from 'string-width';

export { stringWidth as columnsOf };
