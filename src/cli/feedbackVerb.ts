import { feedbackAgreement } from '../core/feedback/agreement.ts';
import { ownFormat } from '../runs/annotationFolder.ts';
import { FeedbackLog } from '../runs/feedbackLog.ts';
import { foreignFeedback } from '../runs/foreignFeedback.ts';
import { openRun } from '../runs/openRun.ts';
import { printable } from './cliOutput.ts';
import { findAnyRun } from './findRun.ts';
import { text } from './options.ts';
import { defineVerb } from './verb.ts';

const number = (value: number) => value.toFixed(2);

export const feedbackVerb = defineVerb({
	name: 'feedback',
	group: 'Runs',
	arguments: [{ name: 'run', phrase: 'a run', type: 'path' }],
	summary: "Show human ratings and preferences of a run's completions, and how well raters and rewards agree.",
	options: { format: text('NAME', 'Trainer whose format the folder is read as, if several match.') },
	async run({ values, positionals, output }) {
		const folder = await findAnyRun(positionals[0] as string);
		const run = await openRun(folder, values.format === undefined ? {} : { format: values.format });
		const log = await FeedbackLog.of(run);
		const feedback = await log.all();
		const agreement = feedbackAgreement(feedback);
		const foreign = run.format === ownFormat ? await foreignFeedback(run.folder, feedback) : 0;
		output.object({ run: run.folder, ...agreement, foreign, unreadable: log.unreadable });
		if (agreement.raters.length === 0) {
			output.line('No completion of this run is rated yet. Rate some in the rollouts panel with + and -.');
			return 0;
		}
		for (const { name, ratings, preferences } of agreement.raters) {
			output.line(printable(`${name}: ${ratings} rated, ${preferences} compared`));
		}
		const { alpha, shared, pairs, undecided, reward, blind } = agreement;
		output.line(
			alpha === null
				? `Rater agreement: unknown (${shared} completions were rated by two or more).`
				: `Rater agreement: Krippendorff's alpha ${number(alpha)} on ${shared} completions (1: all agree, 0: chance).`,
		);
		output.line(`Decided pairs: ${pairs}; equal or disputed: ${undecided}.`);
		if (reward !== null) {
			const { accuracy, low, high } = reward.share;
			output.line(
				`The reward agrees with ${number(accuracy)} [${number(low)}, ${number(high)}] of the ${reward.pairs} pairs whose rewards differ.`,
			);
		}
		if (blind > 0) output.line(`In ${blind} pairs both rewards are equal: the reward misses what raters see.`);
		if (pairs > 0)
			output.line('reasoning-lab export <run> --as preferences writes the pairs for dpo and reward-model.');
		if (foreign > 0) {
			output.line(
				`${foreign} of the judged completions are not among this run's rollouts: is the file from another run? Its pairs are exported anyway.`,
			);
		}
		if (log.unreadable > 0) output.line(`${log.unreadable} lines could not be read.`);
		return 0;
	},
});
