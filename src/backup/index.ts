/**
 * A backup: all that the store holds but what is measured anew, as one JSON document.
 *
 * It is taken from a running daemon and put into a store that no daemon has open. A document that is cut
 * short, of another program, or of a newer softquota is refused, and then nothing is changed.
 */

export { bringHome, type CopyOptions, copyTo } from './copy.ts';
export { type Backup, backupOf, parseBackup } from './document.ts';
export { type Restored, restore } from './restore.ts';
