/**
 * A small world to try softquota in: a git server with three owners, the daemon on it, and a story of pushes.
 *
 * The lines that a newcomer is given to copy are the very lines that `play` runs and checks.
 */

export { type PlaygroundDaemon, startDaemon } from './daemon.ts';
export { play } from './play.ts';
export { type Scene, story } from './story.ts';
export { makeWorld, type World } from './world.ts';
