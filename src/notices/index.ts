/**
 * Notices: sends events to webhooks and by mail, each event once.
 *
 * One host of several reads the record of events. Each host sends notices of its own faults, which can
 * prevent writes to the record. Deliveries are stored until they succeed, also across restarts; failed ones
 * go to a bounded list of dead deliveries. Webhooks inside the own network need permission in the
 * configuration. Without webhooks and mail, nothing runs.
 */

export { noticeKinds } from './deliveries.ts';
export type { PresentFault, PresentFaults } from './faults.ts';
export { Notices } from './notices.ts';
export type { NoticeSettings } from './recipients.ts';
export { ownerUnsubscribing } from './sender.ts';
export type { Summary } from './views.ts';
