import { formatCounted } from '../base/format.ts';
import { environmentLine, isSoundEnvironment } from '../core/episode/environmentSummary.ts';
import { sourcePlace } from '../episodes/environmentSource.ts';
import { type VerifyOptions, verifyEnvironment } from '../episodes/verifyEnvironment.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import type { EnvironmentVerification } from '../protocol/environmentVerification.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';
import { searchEnvironmentSchema } from '../protocol/searchSpec.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { type EnvironmentCall, environmentOptions, environmentPlace, withEnvironment } from './environmentArguments.ts';
import { policyOf, policyOptions } from './searchArguments.ts';
import { defineVerb, type VerbContext } from './verb.ts';

export const verifyEnvironmentVerb = defineVerb({
	name: 'verify-environment',
	group: 'Environments',
	arguments: [{ name: 'environment', phrase: 'an environment file, folder, package, or server address', type: 'path' }],
	summary:
		'Play episodes with solutions, random calls, no calls, invalid calls, and, if given, a policy. Exits with status 1 if an error is found.',
	options: { ...environmentOptions, ...policyOptions },
	async run({ values, positionals, output, engine, args }) {
		const written = positionals[0] as string;
		const policy = values.policy === undefined ? null : await policyOf(values);
		return await withEnvironment(written, values, output, async (call) => {
			const { runner, data, turns, seed, signal } = call;
			const trained = policy === null ? {} : { trained: policyPlayer(policy, call, { output, engine, args }) };
			const verification = await verifyEnvironment(runner, data, { turns, seed, signal, ...trained });
			output.object(verification);
			for (const line of reportOf(verification)) output.line(printable(line));
			return isSoundEnvironment(verification) ? 0 : 1;
		});
	},
});

/** Plays episodes with a policy in the verification's environment process, with the same Python and limits. */
function policyPlayer(
	policy: PolicySpec,
	{ source, runner, turns, seed, signal }: EnvironmentCall,
	{ output, engine, args }: Pick<VerbContext, 'output' | 'engine' | 'args'>,
): NonNullable<VerifyOptions['trained']> {
	return async (rows) => {
		const context = cliSearchContext(engine, args);
		try {
			const [{ policyEpisodes }, { OpenEpisodes }] = await Promise.all([
				import('../search/episodes/policyEpisodes.ts'),
				import('../search/episodes/openEpisodes.ts'),
			]);
			const environment = decodeOrThrow(
				searchEnvironmentSchema,
				{ ...sourcePlace(source), maxTurns: turns },
				'The environment',
			);
			const opened = await OpenEpisodes.in(runner, { maxTurns: turns, seed });
			const played = await policyEpisodes({ policy, environment, episodes: opened, rows, seed, context, signal });
			output.line(printable(`policy: ${played.name}`));
			return played.episodes;
		} finally {
			context.pool.dispose();
		}
	};
}

function reportOf(verification: EnvironmentVerification): string[] {
	const { environment, findings, file, dataset, rows, solvable, remarks, episodes, labeled } = verification;
	const data = dataset === null ? [] : [`on ${formatCounted(rows, 'row')} of ${dataset}, ${solvable} with a solution`];
	const failed = episodes.filter(({ error }) => error !== undefined).length;
	const { library } = environment;
	const place = (line: number) => (library === undefined ? environmentPlace(file, line) : environment.name);
	return [
		`${environment.name}: ${environmentLine(verification)}`,
		...(library === undefined ? [] : [`from ${library}`]),
		...labeled.flatMap(({ label, difference }) => (difference === null ? [`passed: ${label}`] : [])),
		...remarks,
		...findings.map(({ line, level, message, action, file: other }) => {
			const at = other === undefined ? place(line) : environmentPlace(other, line);
			return `${at}: ${level}: ${message}${action === undefined ? '' : ` ${action}`}`;
		}),
		...data,
		...(failed === 0 ? [] : [`${failed} of ${formatCounted(episodes.length, 'episode')} failed`]),
		...(isSoundEnvironment(verification) ? [] : ['Failed.']),
	];
}
