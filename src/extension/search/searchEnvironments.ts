import { basename, dirname } from 'node:path';
import type * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { isEnvironmentFile } from '../../core/episode/environmentLanguage.ts';
import { promptText } from '../../core/episode/promptText.ts';
import { rowLabel } from '../../core/episode/rowLabel.ts';
import { environmentName, isSameEnvironment } from '../../core/episode/sameEnvironment.ts';
import { isServerAddress } from '../../core/episode/serverAddress.ts';
import { environmentData } from '../../episodes/environmentData.ts';
import { EnvironmentRunner } from '../../episodes/environmentRunner.ts';
import { environmentSource, sentSource } from '../../episodes/environmentSource.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { longestProblem, type OfferedEnvironment, type OfferedRows } from '../../protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { type SearchEnvironment, searchEnvironmentSchema } from '../../protocol/searchSpec.ts';
import { heldOutRows, requireTrainedEnvironment, trainedEnvironment } from '../../runs/trainedEnvironment.ts';
import { environmentLimits } from '../environments/environmentLimits.ts';
import { environmentLabel, findEnvironments } from '../environments/environmentManifests.ts';
import type { EnvironmentWorkbench } from '../environments/environmentWorkbench.ts';
import { agreeForeignCode, agreeServer } from '../foreignCodeQuestion.ts';
import { runOf } from '../panels/playground/describePolicy.ts';
import { showInputBox } from '../quickInput.ts';
import { displayText } from '../runView.ts';

/** Maximum number of rows to choose from, and their maximum total length as JSON, in characters. */
const [maxRows, maxCharacters] = [100, 4_000_000] as const;

export interface SearchEnvironmentsNeeds {
	readonly environments: () => Promise<Pick<EnvironmentWorkbench, 'hosts' | 'limits'>>;
}

/** The environments where searches and comparisons can play episodes, and their rows. */
export class SearchEnvironments {
	readonly #needs: SearchEnvironmentsNeeds;

	constructor(needs: SearchEnvironmentsNeeds) {
		this.#needs = needs;
	}

	/** Returns the environments in the workspace. */
	async offered(): Promise<OfferedEnvironment[]> {
		return (await findEnvironments()).map((uri) => ({ ...environmentLabel(uri), spec: withDefaults(placeOf(uri)) }));
	}

	/** Returns the environment that a policy was trained in; null if there is none or it cannot be read. */
	async trained(policy: PolicySpec): Promise<OfferedEnvironment | null> {
		const run = runOf(policy);
		const spec = run === null ? null : await trainedEnvironment(run).catch(() => null);
		if (run === null || spec === null) return null;
		return {
			label: displayText(environmentName(spec), 120),
			description: `of ${displayText(basename(run), 120)}`,
			spec,
		};
	}

	/** Asks for a server's address. Returns null if the user canceled. */
	async chooseServer(): Promise<SearchEnvironment | null> {
		const address = await showInputBox({
			title: 'OpenEnv server',
			placeHolder: 'http://localhost:8000',
			validateInput: (text) =>
				isServerAddress(text.trim()) ? null : 'Enter an address such as http://localhost:8000.',
		});
		return address === undefined ? null : withDefaults({ server: address.trim() });
	}

	/**
	 * Returns rows to choose from: the held-out problems of the policy's run if the policy was trained in this
	 * environment, otherwise the environment's own rows. Reading the latter starts the environment if it is a package or a
	 * server. An environment specified by a run is never started here, because the form reads rows as soon as a policy is
	 * selected. Fails with the same errors as `environmentData`.
	 */
	async rows(environment: SearchEnvironment, policy: PolicySpec | undefined): Promise<OfferedRows> {
		const run = policy === undefined ? null : await runTrainedIn(environment, policy);
		if (run !== null) {
			const held = await heldOutRows(run, maxRows);
			if (held.length > 0) return rowsOf(held, `Held-out problems of ${displayText(basename(run), 120)}`);
			if (environment.file === undefined) return rowsOf([], 'The run has no held-out problems.');
		}
		const { described, rows, remarks } = await this.#data(environment);
		const source = described === null ? displayText(remarks.join(' '), 400) : `Rows of ${displayText(described, 120)}`;
		return rowsOf(
			rows.map(({ columns }) => columns),
			source,
		);
	}

	/**
	 * Asks for consent if a search would run code or use a server that the user has not chosen: code and servers of a
	 * run that this user did not start, and servers on other machines. Fails with `cancelled` if the user declines.
	 */
	async require(environment: SearchEnvironment, policy: PolicySpec): Promise<void> {
		const run = await runTrainedIn(environment, policy);
		if (run !== null) await requireTrainedEnvironment(run, agreeForeignCode);
		if (!(await agreeServer(environment.server))) throw new Failure('cancelled', 'The server was not used.');
	}

	async #data(environment: SearchEnvironment) {
		const { file, package: named, server, arguments: given } = environment;
		const place = file ?? named ?? server ?? '';
		const read = { rows: maxRows, seed: 1 };
		if (file !== undefined) return await environmentData({ file, ...read });
		if (!(await agreeServer(server))) throw new Failure('cancelled', 'The server was not used.');
		const source = await environmentSource(place, { arguments: given });
		const { hosts, limits } = await this.#needs.environments();
		const opened = new EnvironmentRunner(await hosts(source.file, source.python), source.file, {
			seed: 1,
			limits: limits(source.file),
			source: sentSource(source),
		});
		try {
			return await environmentData({ file: place, ...read, own: (count) => opened.rows(count) });
		} finally {
			opened.dispose();
		}
	}
}

/** Returns a policy's run if the policy was trained in this environment. */
async function runTrainedIn(environment: SearchEnvironment, policy: PolicySpec): Promise<string | null> {
	const run = runOf(policy);
	const trained = run === null ? null : await trainedEnvironment(run).catch(() => null);
	return trained !== null && isSameEnvironment(trained, environment) ? run : null;
}

/** Omits rows that do not fit in a message. */
function rowsOf(columns: readonly Readonly<Record<string, unknown>>[], source: string): OfferedRows {
	const rows: OfferedRows['rows'] = [];
	let room = maxCharacters;
	for (const row of columns) {
		room -= JSON.stringify(row).length;
		if (room < 0) break;
		const prompt = promptText(row, null);
		if (prompt.length > longestProblem) continue;
		rows.push({ label: rowLabel(row), problem: { prompt, answer: null, row } });
	}
	return { source, rows };
}

function placeOf(uri: vscode.Uri): Pick<SearchEnvironment, 'file' | 'package'> {
	return isEnvironmentFile(uri.fsPath) ? { file: uri.fsPath } : { package: dirname(uri.fsPath) };
}

/** Adds the limits that verification uses. */
function withDefaults(place: Pick<SearchEnvironment, 'file' | 'package' | 'server'>): SearchEnvironment {
	const { turnMs } = environmentLimits(place.file ?? place.package ?? place.server ?? '');
	const limit = turnMs === undefined ? {} : { turnSeconds: turnMs / 1000 };
	return decodeOrThrow(searchEnvironmentSchema, { ...place, ...limit }, 'The environment');
}
