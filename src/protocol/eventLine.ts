import * as v from 'valibot';

/**
 * One line of events.jsonl. `type` is open (readers keep what they do not know); the known ones:
 * - `started`, `resumed {attempt, fromStep}`, `paused`, `continued`, `stopped`, `finished`, `crashed {reason, message}`
 * - `stage {name, index}`: a stage began at this step; `stage-ended {name, because}`
 * - `device {took, tried: [{provider, error}]}`
 * - `checkpoint {path, best}`
 * - `hyperparameters {changes, fromStep}`: holds from that step on; replayed when a run is resumed
 * - `alert {level: 'info'|'warning'|'error', message}`: the engine's own
 */
export const eventLineSchema = v.looseObject({ time: v.number(), step: v.number(), type: v.string() });
export type EventLine = v.InferOutput<typeof eventLineSchema>;
