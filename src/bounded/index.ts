/**
 * Looks that end, whatever lies there: files of other people are read up to a size and never waited for, and
 * every other program is given a time.
 *
 * Everybody who may write into a repository can put a pipe, a device, a link or gigabytes in the place of
 * each file that root or the daemon looks at. So all of src/ reads such files, and runs programs, through
 * this module.
 */

export { type BoundedFile, mostFileBytes, readBounded } from './file.ts';
export { type Ended, type ProgramOptions, runProgram } from './program.ts';
