import { formatCounted } from '../../base/format.ts';

/** Confirmation shown to the user before a tool acts. `message` is Markdown. */
export interface ActionConfirmation {
	readonly title: string;
	readonly message: string;
}

/** The parts of a tool declaration in package.json that a confirmation needs. */
export interface ConfirmedTool {
	/** Name on the MCP server. */
	readonly name: string;
	readonly displayName: string;
	readonly modelDescription: string;
	readonly inputSchema?: {
		readonly properties?: Readonly<Record<string, { readonly default?: unknown } | undefined>> | undefined;
	};
}

type Arguments = Readonly<Record<string, unknown>>;

/** Longer arguments are truncated, followed by the number of omitted characters. */
const maxArgumentCharacters = 2000;

/** Describes the effect of each action. Arguments come from the model unchecked and can have any type. */
const effects: Readonly<Record<string, (given: Arguments) => string>> = {
	verify_reward: ({ file, on, rows, run }) =>
		`Runs the code of the reward file ${code(file)}, with your permissions, on at most ${code(rows)} rows: ${on === 'rollouts' ? `recorded rollouts of the run ${code(run)}` : code(on)}.`,
	audit_reward: ({ file, rows }) =>
		`Runs the code of the reward file ${code(file)}, with your permissions, on test answers generated from at most ${code(rows)} rows.`,
	compare_rewards: ({ file, other, revision, run, batches }) =>
		`Runs the code of the reward file ${code(file)} and of ${other === undefined ? `its version in Git revision ${code(revision)}` : code(other)}, with your permissions, on the rollouts of the ${code(batches)} latest batches of the run ${code(run)}.`,
	start_run: ({ recipe, seed, set }) =>
		`Starts a training run from the recipe ${code(recipe)}${seed === undefined ? '' : `, with seed ${code(seed)}`}${
			Array.isArray(set) && set.length > 0 ? `, with ${set.map(code).join(', ')}` : ''
		}. Uses the device, takes up disk space, and runs the code specified by the recipe, with your permissions.`,
	pause_run: ({ run }) => `Pauses the run ${code(run)} after its current step.`,
	resume_run: ({ run }) =>
		`Resumes the run ${code(run)} from its newest checkpoint, or continues it if it is paused. Uses the device, and runs the code of the run, with your permissions.`,
	stop_run: ({ run }) =>
		`Stops the run ${code(run)} after its current step, with a checkpoint from which it can be resumed.`,
	start_search: ({ run, checkpoint, dataset, row, tokens, seconds, reward }) =>
		`Searches for the answer to ${dataset === undefined ? 'one problem' : `row ${code(row)} of ${code(dataset)}`} with the checkpoint ${code(checkpoint)} of the run ${code(run)}, for at most ${code(tokens)} tokens and ${code(seconds)} seconds. Uses the device${
			reward === undefined ? '' : `, runs the code of the reward ${code(reward)} with your permissions if it is a file`
		}, and stores a log in the run folder.`,
	continue_search: ({ run, search, node, tokens, seconds }) =>
		`Continues the search ${code(search)} of the run ${code(run)}${node === undefined ? '' : ` below node ${code(node)}`} for at most ${code(tokens)} tokens and ${code(seconds)} seconds. Uses the device, runs the code of the search's reward file or environment, if it has one, with your permissions, and appends to the log.`,
	start_evaluation: ({ run, checkpoint, dataset, limit, samples }) =>
		`Evaluates the checkpoint ${code(checkpoint)} of the run ${code(run)} on ${
			limit === undefined ? 'all' : `at most ${code(limit)}`
		} problems of ${dataset === undefined ? 'its held-out set' : code(dataset)} (completions per problem: ${code(samples)}). Uses the device, and stores the results in the run folder.`,
	stop_job: ({ job }) => `Stops the search or evaluation ${code(job)}. Results so far are kept.`,
	write_report: ({ run, name, text, replace }) =>
		`Writes the report ${code(`${String(name)}.md`)} on the run ${code(run)} (${formatCounted(String(text).length, 'character')})${replace === true ? ', replacing any existing report with that name' : ''}.`,
};

/** Names of the tools whose effects are described. */
export const describedActions: readonly string[] = Object.keys(effects);

/**
 * Returns the confirmation for a call: its effect, all arguments including defaults, and the folders that relative
 * paths refer to. Arguments are never rendered as Markdown.
 * @param input unchecked arguments from the model
 * @param folders folders of the server, as absolute paths
 */
export function actionConfirmation(
	{ name, displayName, modelDescription, inputSchema }: ConfirmedTool,
	input: object,
	folders: readonly string[],
): ActionConfirmation {
	const given: Arguments = { ...defaultsOf(inputSchema), ...input };
	const effect = effects[name]?.(given) ?? modelDescription;
	const json = JSON.stringify(given, (_, value) => (typeof value === 'string' ? shortened(value) : value), 2);
	const places = folders.map(code).join(', ');
	return {
		title: `${displayName}?`,
		message: `${effect}\n\nArguments, with paths relative to ${places}:\n\n${block(visible(json, true))}`,
	};
}

const defaultsOf = (schema: ConfirmedTool['inputSchema']): Arguments =>
	Object.fromEntries(
		Object.entries(schema?.properties ?? {}).flatMap(([key, property]) =>
			property?.default === undefined ? [] : [[key, property.default]],
		),
	);

const shortened = (text: string): string =>
	text.length <= maxArgumentCharacters
		? text
		: `${text.slice(0, maxArgumentCharacters)} (${text.length - maxArgumentCharacters} more characters)`;

/** Returns text with its invisible characters escaped, because they could disguise what it says. */
function visible(text: string, lines: boolean): string {
	return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, (character) =>
		lines && character === '\n' ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
	);
}

/** Formats a value as inline code, delimited by more consecutive backticks than it contains. */
function code(value: unknown): string {
	const text = visible(shortened(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'unset')), false);
	const fence = '`'.repeat(longestFence(text) + 1);
	return `${fence} ${text} ${fence}`;
}

function block(text: string): string {
	const fence = '`'.repeat(Math.max(3, longestFence(text) + 1));
	return `${fence}json\n${text}\n${fence}`;
}

const longestFence = (text: string): number => Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
