import { Failure } from '../../../base/failure.ts';
import type { EnvironmentDescription } from '../../../protocol/environmentHost.ts';
import type { EpisodeStatus } from '../../../protocol/episodeMessages.ts';
import { LoadFailure } from '../../../rewards/loadFailure.ts';

/** Returns the parts of an environment that the page shows. */
export function shownEnvironment(environment: EnvironmentDescription): EpisodeStatus['environment'] {
	const { name, tools, ownsReward, reportsDone, rewardRange } = environment;
	return {
		...{ name, ownsReward, reportsDone },
		rewardRange: rewardRange === undefined ? null : [...rewardRange],
		tools: tools.map((tool) => ({ name: tool.name, schema: tool.schema, fault: tool.fault?.message ?? null })),
	};
}

/** Returns a failure for the page, with its line if it is in the environment's own file. */
export function failureOf(error: unknown, file: string): EpisodeStatus['failure'] {
	const { message, action } = Failure.from(error);
	const line = error instanceof LoadFailure && error.file === file ? (error.line ?? null) : null;
	return { message: message.slice(0, 4000), action: action ?? null, line };
}
