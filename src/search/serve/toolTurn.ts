import { Failure } from '../../base/failure.ts';
import type { OfferedTools } from '../../policies/openedPolicy.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import { ApiError } from './apiError.ts';
import type { CalledTools, Reasoner, SolveOptions } from './reasoner.ts';

/**
 * Offers a request's tools to the policy before searching. Throws an `ApiError`: 400 if the policy does not support
 * tools or this conversation, 502 if it fails or makes no call even though one is required.
 */
export async function toolTurn(
	reasoner: Reasoner,
	problem: SearchProblem,
	offered: OfferedTools,
	options: SolveOptions,
): Promise<CalledTools> {
	let turn: CalledTools;
	try {
		turn = await reasoner.callTools(problem, offered, options);
	} catch (error) {
		if (!(error instanceof Failure)) throw error;
		switch (error.reason) {
			case 'cancelled':
			case 'timeout':
				throw error;
			case 'unsupported':
				throw new ApiError(400, 'unsupported_parameter', error.toString(), 'tools');
			case 'invalid':
				throw new ApiError(400, 'invalid_prompt', error.message);
			default:
				throw new ApiError(502, 'policy_failed', error.message);
		}
	}
	const { choice } = offered;
	if (choice === 'auto' || turn.calls.length > 0) return turn;
	const what = typeof choice === 'object' ? `the tool ${choice.function.name}` : 'a tool';
	throw new ApiError(502, 'no_tool_call', `The policy did not call ${what}, which tool_choice requires.`);
}
