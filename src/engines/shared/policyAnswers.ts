import type { ControlRequest, ControlResult } from '../../protocol/control.ts';

/** What the weights answer to clients, between the steps of training or while they are served. */
export interface PolicyAnswers {
	/** What it can do beside the methods that it answers. */
	readonly extensions: readonly string[];
	generate(request: ControlRequest<'policy/generate'>, signal?: AbortSignal): Promise<ControlResult<'policy/generate'>>;
	score(request: ControlRequest<'policy/score'>): Promise<ControlResult<'policy/score'>>;
	/** Absent: the engine has no heads. */
	value?(request: ControlRequest<'policy/value'>): Promise<ControlResult<'policy/value'>>;
}
