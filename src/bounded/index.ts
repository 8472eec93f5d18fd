/**
 * Bounded reading: files that strangers can write are read up to a size and without waiting, programs have a
 * time limit, lines over a connection have a maximum length, and JSON has a maximum depth and number of
 * values.
 *
 * Everybody who can write into a repository can replace each file there by a pipe, a device, a link or
 * gigabytes of data. So all of src/ reads such files, and runs programs, through this module.
 */

export { Exchange, type ExchangeHandlers, type Fields } from './exchange.ts';
export { type BoundedFile, OpenedFile, readBounded } from './file.ts';
export { JsonFault, mostDepth, readExactJson, readJson } from './json.ts';
export {
  type EndedStage,
  isGroupAlive,
  isProcessAlive,
  type ProgramOptions,
  pipePrograms,
  runProgram,
  type Stage,
} from './program.ts';
