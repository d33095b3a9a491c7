import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { type EvaluationPlace, formatAddress } from '../../core/address/dataAddress.ts';
import * as input from '../inputs.ts';
import { type PairedEvaluations, pairEvaluations, significanceLevel } from '../pairedEvaluations.ts';
import { defineTool } from '../tool.ts';

const place = v.object({
	run: input.run,
	evaluation: v.optional(input.text('Evaluation of a checkpoint, as returned by list_evaluations.', 300)),
	name: v.optional(input.text('Name of an evaluation during training.', 200)),
	step: v.optional(input.step),
});
type Place = v.InferOutput<typeof place>;

export const compareEvaluations = defineTool({
	name: 'compare_evaluations',
	title: 'Compare evaluations',
	description:
		'Test whether two evaluations on the same problems differ: exact McNemar test, or sign-flip test with several samples per problem. Returns accuracies, the difference with its 95% interval, the p-value and which one is better at p < 0.05. Pass evaluation for a checkpoint, or name and step for an evaluation during training.',
	input: v.object({ first: place, second: place }),
	async run({ first, second }, { runs, signal }) {
		const paired = await pairEvaluations(placeOf(first), placeOf(second), runs, signal);
		const { compared, address } = paired;
		const shown = (given: Place, { place, samples }: PairedEvaluations['first']) => ({
			...{ ...given, run: place.run, samples: samples.length },
			address: formatAddress({ kind: 'evaluation', ...place }),
		});
		const [one, two] = [shown(first, paired.first), shown(second, paired.second)];
		if (compared.test === 'none') return { address, first: one, second: two, ...compared, better: null };
		const significant = compared.p < significanceLevel;
		const better = !significant ? null : compared.difference.mean > 0 ? 'second' : 'first';
		const { test, problems, gained, lost, p, difference } = compared;
		return {
			address,
			first: { ...one, accuracy: compared.first },
			second: { ...two, accuracy: compared.second },
			...{ test, problems, gained, lost, p, difference, significant, better },
		};
	},
});

function placeOf({ run, evaluation, name, step }: Place): EvaluationPlace {
	if (evaluation !== undefined) return { run, name: evaluation, step: null };
	if (name !== undefined && step !== undefined) return { run, name, step };
	throw new Failure('invalid', 'No evaluation was specified.', 'Pass name and step, or evaluation.');
}
