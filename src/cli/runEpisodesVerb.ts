import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { type EpisodePolicyName, episodePolicies } from '../core/episode/episodePolicies.ts';
import { formatValue } from '../core/reward/verification/verificationSummary.ts';
import { playPolicy, policiesOf } from '../episodes/verifyEnvironment.ts';
import type { Episode } from '../protocol/episode.ts';
import { printable } from './cliOutput.ts';
import { environmentOptions, environmentPlace, withEnvironment } from './environmentArguments.ts';
import { choice, flag } from './options.ts';
import { defineVerb } from './verb.ts';

const options = {
	policy: choice(episodePolicies, 'NAME', 'Policy that chooses the calls (default: gold, the solutions in the rows).'),
	...environmentOptions,
	state: flag('Include a summary of the state after each turn.'),
} as const;

export const runEpisodesVerb = defineVerb({
	name: 'run-episodes',
	group: 'Environments',
	arguments: [{ name: 'environment', phrase: 'an environment file, folder, package, or server address', type: 'path' }],
	summary: 'Play one episode per row and print its turns. Exits with status 1 if an episode fails.',
	options,
	async run({ values, positionals, output }) {
		const wanted: EpisodePolicyName = values.policy ?? 'gold';
		return await withEnvironment(positionals[0] as string, values, output, async (call) => {
			const { runner, data, turns, seed, signal } = call;
			const environment = await runner.describe();
			let played = 0;
			let failed = 0;
			for (const { row, columns } of data.rows) {
				const policy = policiesOf(environment, row, columns, seed).find((one) => one.policy === wanted);
				if (policy === undefined) continue;
				const options = { turns, signal, state: values.state ?? false };
				const episode = await playPolicy(runner, environment, { row, columns }, policy, options);
				output.object(episode);
				for (const line of linesOf(episode, runner.file)) output.line(printable(line));
				played++;
				if (episode.error !== undefined) failed++;
			}
			if (played === 0) {
				const action = 'Add a column "calls" with a list of tool calls, or choose another policy with --policy.';
				throw new Failure('invalid', 'No row has a solution.', action);
			}
			for (const remark of data.remarks) output.line(printable(remark));
			output.line(`${formatCounted(played, 'episode')}${failed === 0 ? '' : `, ${failed} failed`}`);
			return failed === 0 ? 0 : 1;
		});
	},
});

const shorten = (text: string) => {
	const line = text.replace(/\s+/g, ' ').trim();
	return line.length > 200 ? `${line.slice(0, 199)}…` : line;
};

function linesOf({ row, policy, observation, turns, reward, stop, error }: Episode, file: string): string[] {
	const lines = [`row ${row + 1}, ${policy}${observation === null ? '' : `: ${shorten(observation)}`}`];
	for (const { calls, results, reward: ofTurn } of turns) {
		for (const { name, arguments: given } of calls)
			lines.push(`  > ${name}(${shorten(JSON.stringify(given ?? null))})`);
		for (const { content, failed } of results) lines.push(`  < ${failed ? 'failed: ' : ''}${shorten(content)}`);
		if (ofTurn !== undefined) lines.push(`  turn reward ${formatValue(ofTurn)}`);
	}
	if (error !== undefined) {
		const place = error.line === undefined ? '' : ` (${environmentPlace(file, error.line)})`;
		lines.push(`  failed in ${error.during}: ${shorten(error.message)}${place}`);
	} else {
		lines.push(`  reward ${reward === null ? 'none' : formatValue(reward)}, ${stops[stop]}`);
	}
	return lines;
}

const stops: Readonly<Record<Episode['stop'], string>> = {
	policy: 'ended by the policy',
	done: 'done',
	turns: 'turn limit reached',
	failed: 'failed',
};
