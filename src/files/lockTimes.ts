/** Heartbeat interval for lock holders and record writers, in milliseconds. */
export const heartbeatMs = 5000;
/**
 * How long to wait for a process that has recorded its completion to release its lock, in milliseconds. An engine may
 * give its trainer 20 s to exit before killing whatever remains.
 */
export const endingMs = 60_000;
/** Time without a heartbeat after which a holder on another host is presumed dead. */
export const silentMs = 30_000;
