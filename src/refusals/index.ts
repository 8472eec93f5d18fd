/**
 * What is refused now, published beside the gate's socket for hooks that cannot reach the daemon.
 *
 * The file is always whole, never wider readable than the socket is usable, and no more than about a second
 * behind. It is written at least every hour, so that its time tells until when the daemon lived. It stays
 * when the daemon ends, because that is what it is for. Where it cannot be written, the daemon goes on, says
 * so, and tries again.
 */

export { Refusals, type RefusalsOptions, refusedFile } from './refusals.ts';
