/**
 * A small world to try softquota in: a git server with three owners, its daemon, and a story of pushes.
 *
 * The commands that a new user is given to copy are exactly those that `play` runs and checks.
 */

export { type PlaygroundDaemon, startDaemon } from './daemon.ts';
export { play } from './play.ts';
export { type Scene, story } from './story.ts';
export { makeWorld, type World } from './world.ts';
