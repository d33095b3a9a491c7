import { Failure } from '../base/failure.ts';
import { didYouMean } from '../core/recipe/suggest.ts';
import { printable } from './cliOutput.ts';
import { helpText, optionRow, verbHelp } from './helpText.ts';
import { defineVerb, type Verb } from './verb.ts';

const helpVerb = defineVerb({
	name: 'help',
	group: 'Setup',
	arguments: [{ name: 'command', phrase: 'a command', type: 'verb', optional: true }],
	summary: 'List all commands, or show the options for one.',
	async run({ positionals, output }) {
		const [name] = positionals;
		const named = name === undefined ? null : await findVerb(name);
		if (named !== null && !output.json) output.line(verbHelp(named));
		else {
			const all = await allVerbs();
			const listed = all.map(({ name, group, usage, summary, options }) => {
				const rows = Object.entries(options).map(([option, declared]) => optionRow(option, declared));
				return { name, group, usage, summary, options: rows };
			});
			output.object({ verbs: listed });
			output.line(helpText(all));
		}
		return 0;
	},
});

/** Maps verb names to verbs, in help order. A verb's modules are loaded only when the verb is used. */
const verbs: Readonly<Record<string, () => Promise<Verb>>> = {
	new: async () => (await import('./newVerb.ts')).newVerb,
	run: async () => (await import('./runVerb.ts')).runVerb,
	sweep: async () => (await import('./sweepVerb.ts')).sweepVerb,
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
	mcp: async () => (await import('./mcpVerb.ts')).mcpVerb,
	'cite-check': async () => (await import('./citeCheckVerb.ts')).citeCheckVerb,
	feedback: async () => (await import('./feedbackVerb.ts')).feedbackVerb,
	'export-onnx': async () => (await import('./exportOnnxVerb.ts')).exportOnnxVerb,
	rescore: async () => (await import('./rescoreVerb.ts')).rescoreVerb,
	'export-reward': async () => (await import('./exportRewardVerb.ts')).exportRewardVerb,
	verify: async () => (await import('./verifyVerb.ts')).verifyVerb,
	audit: async () => (await import('./auditVerb.ts')).auditVerb,
	compare: async () => (await import('./compareVerb.ts')).compareVerb,
	'verify-environment': async () => (await import('./verifyEnvironmentVerb.ts')).verifyEnvironmentVerb,
	'run-episodes': async () => (await import('./runEpisodesVerb.ts')).runEpisodesVerb,
	'export-environment': async () => (await import('./exportEnvironmentVerb.ts')).exportEnvironmentVerb,
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
	'setup-gpu': async () => (await import('./setupGpuVerb.ts')).setupGpuVerb,
	'setup-pytorch': async () => (await import('./setupPytorchVerb.ts')).setupPytorchVerb,
	doctor: async () => (await import('./doctorVerb.ts')).doctorVerb,
	completion: async () => (await import('./completionVerb.ts')).completionVerb(allVerbs),
	'sandbox-check': async () => (await import('./sandboxCheckVerb.ts')).sandboxCheckVerb,
	'sandbox-run': async () => (await import('./sandboxRunVerb.ts')).sandboxRunVerb,
	'reward-math': async () => (await import('./rewardMathVerb.ts')).rewardMathVerb,
	help: async () => helpVerb,
	version: async () => (await import('./versionVerb.ts')).versionVerb,
};

export const allVerbs = (): Promise<Verb[]> => Promise.all(Object.values(verbs).map((load) => load()));

/** Returns the verb with this name. Fails with `invalid` if there is none. */
export async function findVerb(name: string): Promise<Verb> {
	const load = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
	if (load !== undefined) return load();
	const shown = printable(name.slice(0, 80));
	const near = didYouMean(name, Object.keys(verbs));
	throw new Failure('invalid', `Unknown command "${shown}".`, near ?? 'See reasoning-lab help.');
}
