import { Failure } from '../base/failure.ts';
import { didYouMean } from '../core/recipe/suggest.ts';
import { printable } from './cliOutput.ts';
import { helpText, verbHelp } from './helpText.ts';
import { parseArguments } from './parseArguments.ts';
import type { Verb } from './verb.ts';

const helpVerb: Verb = {
	name: 'help',
	usage: '[verb]',
	summary: 'Say what there is, or what a verb does.',
	options: [],
	async run({ args, output }) {
		const { positionals } = parseArguments('help', args, {}, { names: [], least: 0, most: 1 });
		const [name] = positionals;
		const named = name === undefined ? null : await findVerb(name);
		if (named !== null && !output.json) output.line(verbHelp(named));
		else {
			const all = await allVerbs();
			output.object({ verbs: all.map(({ name, usage, summary, options }) => ({ name, usage, summary, options })) });
			output.line(helpText(all));
		}
		return 0;
	},
};

/** Name -> verb, in the order of the help. What one verb needs is read when it is called. */
const verbs: Readonly<Record<string, () => Promise<Verb>>> = {
	new: async () => (await import('./newVerb.ts')).newVerb,
	run: async () => (await import('./runVerb.ts')).runVerb,
	slurm: async () => (await import('./slurmVerb.ts')).slurmVerb,
	resume: async () => (await import('./resumeVerb.ts')).resumeVerb,
	status: async () => (await import('./statusVerb.ts')).statusVerb,
	stop: async () => (await import('./stopVerb.ts')).stopVerb,
	pipeline: async () => (await import('./pipelineVerb.ts')).pipelineVerb,
	estimate: async () => (await import('./estimateVerb.ts')).estimateVerb,
	inspect: async () => (await import('./inspectVerb.ts')).inspectVerb,
	query: async () => (await import('./queryVerb.ts')).queryVerb,
	report: async () => (await import('./reportVerb.ts')).reportVerb,
	export: async () => (await import('./exportVerb.ts')).exportVerb,
	feedback: async () => (await import('./feedbackVerb.ts')).feedbackVerb,
	'export-onnx': async () => (await import('./exportOnnxVerb.ts')).exportOnnxVerb,
	rescore: async () => (await import('./rescoreVerb.ts')).rescoreVerb,
	'export-reward': async () => (await import('./exportRewardVerb.ts')).exportRewardVerb,
	verify: async () => (await import('./verifyVerb.ts')).verifyVerb,
	audit: async () => (await import('./auditVerb.ts')).auditVerb,
	compare: async () => (await import('./compareVerb.ts')).compareVerb,
	search: async () => (await import('./searchVerb.ts')).searchVerb,
	solve: async () => (await import('./solveVerb.ts')).solveVerb,
	serve: async () => (await import('./serveVerb.ts')).serveVerb,
	evaluate: async () => (await import('./evaluateVerb.ts')).evaluateVerb,
	'compare-strategies': async () => (await import('./compareStrategiesVerb.ts')).compareStrategiesVerb,
	'generate-data': async () => (await import('./generateDataVerb.ts')).generateDataVerb,
	dataset: async () => (await import('./datasetVerb.ts')).datasetVerb,
	transcript: async () => (await import('./transcriptVerb.ts')).transcriptVerb,
	reflexion: async () => (await import('./reflexionVerb.ts')).reflexionVerb,
	tree: async () => (await import('./treeVerb.ts')).treeVerb,
	'setup-pytorch': async () => (await import('./setupPytorchVerb.ts')).setupPytorchVerb,
	doctor: async () => (await import('./doctorVerb.ts')).doctorVerb,
	'sandbox-check': async () => (await import('./sandboxCheckVerb.ts')).sandboxCheckVerb,
	'reward-math': async () => (await import('./rewardMathVerb.ts')).rewardMathVerb,
	help: async () => helpVerb,
	version: async () => (await import('./versionVerb.ts')).versionVerb,
};

export const allVerbs = (): Promise<Verb[]> => Promise.all(Object.values(verbs).map((load) => load()));

/** Fails with `invalid` for an unknown name. */
export async function findVerb(name: string): Promise<Verb> {
	const load = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
	if (load !== undefined) return load();
	const shown = printable(name.slice(0, 80));
	const near = didYouMean(name, Object.keys(verbs));
	throw new Failure('invalid', `Unknown command "${shown}".`, near ?? 'See reasoning-lab help.');
}
