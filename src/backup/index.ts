/**
 * A backup: everything in the store that cannot be measured again, as one JSON document.
 *
 * It is taken from a running daemon and restored into a store that no daemon has open. A document that is
 * incomplete, from another program, or from a newer softquota is refused; then nothing is changed.
 */

export { type Backup, backupOf, parseBackup, type Restored, restore } from './backup.ts';
