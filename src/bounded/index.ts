/**
 * Looks that end, whatever strangers left there: their files are read up to a size and never waited for,
 * every other program is given a time, and their JSON is read exactly, with a bounded depth and number of
 * values, and a slice at a time.
 *
 * Everybody who may write into a repository can put a pipe, a device, a link or gigabytes in the place of
 * each file that root or the daemon looks at. So all of src/ reads such files, and runs programs, through
 * this module.
 */

export { type BoundedFile, mostFileBytes, readBounded } from './file.ts';
export { readJson, readJsonInSlices } from './json.ts';
export { exactNumber, Inexact } from './number.ts';
export { type Ended, type ProgramOptions, runProgram } from './program.ts';
export { JsonFault, mostCharacters, mostDepth, mostInARow, mostNames, type ReaderOptions } from './reader.ts';
