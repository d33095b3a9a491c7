/** The holder of a lock, and who writes a record, renews it this often, in milliseconds. */
export const heartbeatMs = 5000;
/**
 * Who has written that its work is over still puts its lock away; it is waited for this long, in milliseconds. An engine may
 * give its trainer 20 s to end, and ends what is left of it after that.
 */
export const endingMs = 60_000;
/** A holder on another host that was silent for so long is taken for dead. */
export const silentMs = 30_000;
