/**
 * The HTTP API for this machine's administrator, on a socket of its own.
 *
 * Under `/api/v1`: usage, explanations, policy faults, findings, and scans to start and follow. Every fault is
 * `{"message", "url"}`.
 */

export { Admin, type AdminServices } from './admin.ts';
