import type { ControlRequest, ControlResult } from '../../protocol/control.ts';

/** Answers policy requests with the model's weights, either between training steps or while serving a checkpoint. */
export interface PolicyAnswers {
	/** Supported extensions. */
	readonly extensions: readonly string[];
	generate(request: ControlRequest<'policy/generate'>, signal?: AbortSignal): Promise<ControlResult<'policy/generate'>>;
	score(request: ControlRequest<'policy/score'>): Promise<ControlResult<'policy/score'>>;
	/** Absent if the engine has no heads. */
	value?(request: ControlRequest<'policy/value'>): Promise<ControlResult<'policy/value'>>;
}
