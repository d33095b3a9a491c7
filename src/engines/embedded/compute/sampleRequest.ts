import { eosToken } from '../../../core/text/specialTokens.ts';
import type { Sample, SampleRequest, SpreadOfTokens, ThoughtReading } from '../learner.ts';
import type { SampleJob, SampleResult, WeightsRef } from './jobs.ts';
import { spreadFields } from './tokenRecord.ts';

/** Creates the job for rows [start, end) of a request. Deduplicates equal prompts. */
export function sampleJob(request: SampleRequest, start: number, end: number, weights: WeightsRef): SampleJob {
	const known = new Map<string, number>();
	const prompts: Int32Array[] = [];
	const promptOf = Int32Array.from(request.prompts.slice(start, end), (prompt) => {
		const key = prompt.join();
		let index = known.get(key);
		if (index === undefined) {
			index = prompts.push(Int32Array.from(prompt)) - 1;
			known.set(key, index);
		}
		return index;
	});
	return {
		kind: 'sample',
		weights,
		prompts,
		promptOf,
		seeds: request.seeds.slice(start, end),
		maxNewTokens: Int32Array.from({ length: end - start }, (_, i) =>
			typeof request.maxNewTokens === 'number' ? request.maxNewTokens : (request.maxNewTokens[start + i] as number),
		),
		temperature: request.temperature,
		topP: request.topP ?? 1,
		stop: [eosToken, ...(request.stop ?? [])],
		alternatives: request.detail?.alternatives ?? null,
		...(request.thoughts === undefined ? {} : { thoughts: request.thoughts }),
	};
}

/** Returns the results of a job for rows starting at `start`, in order. */
export function samplesOf(request: SampleRequest, start: number, result: SampleResult): Sample[] {
	let offset = 0;
	return Array.from(result.lengths, (length, i) => {
		const prompt = request.prompts[start + i] as readonly number[];
		const end = offset + length;
		const sample: Sample = {
			tokens: [...prompt, ...result.tokens.subarray(offset, end)],
			promptLength: prompt.length,
			logprobs: result.logprobs.slice(offset, end),
			entropies: result.entropies.slice(offset, end),
			truncated: result.truncated[i] === 1,
			...(result.thoughts === undefined ? {} : { thoughts: result.thoughts[i] as ThoughtReading }),
			...(request.detail === undefined ? {} : { spread: spreadOf(result, request.detail.alternatives, offset, end) }),
		};
		offset = end;
		return sample;
	});
}

/** Returns statistics for tokens [start, end) in a result. */
function spreadOf(result: SampleResult, alternatives: number, start: number, end: number): SpreadOfTokens {
	const field = (index: number) =>
		Float32Array.from({ length: end - start }, (_, t) => result.spreads[(start + t) * spreadFields + index] as number);
	return {
		varentropies: field(0),
		ginis: field(1),
		variances: field(2),
		selfCertainties: field(3),
		alternatives,
		topTokens: result.topTokens.slice(start * alternatives, end * alternatives),
		topLogprobs: result.topLogprobs.slice(start * alternatives, end * alternatives),
	};
}
