import type { ControlRequest, ControlResult } from '../../protocol/control.ts';

/** Policy requests answered by the weights, between training steps or while being served. */
export interface PolicyAnswers {
	/** Supported extensions. */
	readonly extensions: readonly string[];
	generate(request: ControlRequest<'policy/generate'>, signal?: AbortSignal): Promise<ControlResult<'policy/generate'>>;
	score(request: ControlRequest<'policy/score'>): Promise<ControlResult<'policy/score'>>;
	/** Absent if the engine has no heads. */
	value?(request: ControlRequest<'policy/value'>): Promise<ControlResult<'policy/value'>>;
}
