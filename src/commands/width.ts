/**
 * Number of columns that a terminal gives a text, of whatever script.
 *
 * An entry of its own: the library takes as long to load as a fifth of a command, and few texts need it.
 */

import stringWidth from 'string-width';

export { stringWidth as columnsOf };
