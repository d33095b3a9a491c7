import * as v from 'valibot';

/**
 * A line in events.jsonl. The set of types is open; readers keep unknown ones. Known types:
 * - `started`, `resumed {attempt, fromStep}`, `paused`, `continued`, `stopped`, `finished`, `crashed {reason,
 *   message}`
 * - `stage {name, index}`: a stage began at this step; `stage-ended {name, because}`
 * - `device {took, asked, tried: [{provider, error}], measured: [{provider, rows, tokens, samplingMs, updateMs}]}`
 * - `checkpoint {path, best}`
 * - `hyperparameters {changes, fromStep}`: in effect from that step onward, and replayed when a run is resumed
 * - `alert {level: 'info'|'warning'|'error', message}`: the engine's own alerts
 */
export const eventLineSchema = v.looseObject({ time: v.number(), step: v.number(), type: v.string() });
export type EventLine = v.InferOutput<typeof eventLineSchema>;
