/**
 * Notices: tells webhooks and people by mail what happens, each event once.
 *
 * The source is the record of events, read by one host of several; faults of a host, which may keep the
 * record from being written, are told by that host. What is to be delivered is kept until it is, over
 * restarts, and goes to a bounded list of dead ones when it cannot be. A webhook is never connected to inside
 * the own network unless that is allowed. Without a webhook and without mail nothing of it runs.
 */

export type { PresentFault, PresentFaults } from './faults.ts';
export { noticeKinds } from './kinds.ts';
export { Notices } from './notices.ts';
export type { NoticeSettings } from './recipients.ts';
export { ownerUnsubscribing } from './sender.ts';
export type { Summary } from './views.ts';
