import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { isEnvironmentFile } from '../../../core/episode/environmentLanguage.ts';
import { isServerAddress } from '../../../core/episode/serverAddress.ts';
import { type EnvironmentData, environmentData } from '../../../episodes/environmentData.ts';
import { EnvironmentRunner } from '../../../episodes/environmentRunner.ts';
import { sentSource } from '../../../episodes/environmentSource.ts';
import {
	type EpisodeCommand,
	type EpisodeEvent,
	episodeCommandSchema,
	episodeRequests,
} from '../../../protocol/episodeMessages.ts';
import { verifiedRows } from '../../environments/environmentSession.ts';
import type { EnvironmentWorkbench } from '../../environments/environmentWorkbench.ts';
import { isManifest, sessionSource } from '../../environments/manifestFiles.ts';
import { agreeForeignCode } from '../../foreignCodeQuestion.ts';
import { panelTypes } from '../../ids.ts';
import type { Notices } from '../../notices.ts';
import { displayText } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import type { DebuggedTurn, debugTurn } from './episodeDebugger.ts';
import type { EpisodePlace } from './episodePlace.ts';
import { EpisodeViewSession, type StartedView } from './episodeViewSession.ts';
import type { RecordedEpisode } from './shownEpisode.ts';

type DebugTurn = typeof debugTurn;

export interface EpisodePanelNeeds extends PanelContext {
	readonly notices: Notices;
	readonly environments: Pick<EnvironmentWorkbench, 'hosts' | 'limits' | 'debugger'>;
}

const app = {
	name: 'episode',
	viewType: panelTypes.episode,
	commands: episodeCommandSchema,
	requests: episodeRequests,
} as const;

/**
 * Maximum number of rows to choose from. Uses the same seed as verification in the editor, so the first rows are the
 * same.
 */
const rows = { ...verifiedRows, rows: 100 } as const;

/** A panel that steps through episodes of one environment. */
export class EpisodePanel extends AppPanel<EpisodeEvent, EpisodeCommand, typeof episodeRequests> {
	readonly #needs: EpisodePanelNeeds;
	readonly #place: EpisodePlace;
	readonly #session: EpisodeViewSession;
	/** Whether the user has agreed to run code from a run or a package, or to use a server. */
	#agreed: boolean;
	protected readonly handlers: RequestHandlers<typeof episodeRequests>;

	constructor(panel: vscode.WebviewPanel, needs: EpisodePanelNeeds, place: EpisodePlace, started: StartedView) {
		super(panel, needs, app);
		this.#needs = needs;
		this.#place = place;
		const { file } = place;
		const { environments } = needs;
		const own = isEnvironmentFile(file);
		// A view of a package or a server that was opened on request needs no further consent; a restored one does.
		this.#agreed = place.runFolder === null && (own || !('started' in place));
		this.#session = this.register(
			new EpisodeViewSession(
				{
					file,
					runFolder: place.runFolder,
					open: async () => {
						await this.#requireAgreed();
						const source = await sessionSource(file);
						const hosts = await environments.hosts(file, source.python);
						const limits = environments.limits(file);
						return new EnvironmentRunner(hosts, source.file, { seed: 1, limits, source: sentSource(source) });
					},
					data: (signal, opened) => this.#data(signal, opened),
					post: (event) => void this.post(event),
					forbidden,
					debugs: own,
					saves: own && place.runFolder === null,
				},
				started,
			),
		);
		this.title = episodeTitle(place);
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#session.load()));
		this.register(
			vscode.workspace.onDidSaveTextDocument(({ uri }) => {
				if (uri.scheme === 'file' && (uri.fsPath === file || this.#session.files.includes(uri.fsPath))) {
					this.#session.changed();
				}
			}),
		);
		this.handlers = {
			loadRow: ({ index }) => ({ text: JSON.stringify(this.#session.row(index), null, 2) }),
		};
		this.load(needs);
	}

	/** Exposed for tests and for commands in other extensions. */
	get session(): EpisodeViewSession {
		return this.#session;
	}

	record(episode: RecordedEpisode): void {
		this.#session.record(episode);
	}

	/** Saves an episode as a labeled episode. Resolves to the file, or null if the user canceled. */
	async save(branch: number, name?: string): Promise<string | null> {
		const { saveEpisode } = await import('./saveEpisode.ts');
		return await saveEpisode(this.#place.file, this.#session.branch(branch), this.#needs.notices, name);
	}

	/** Plays an episode up to a turn in the debugger; 0 is the reset. */
	debug(id: number, turn: number): void {
		const session = this.#session;
		session.act('Starting the debugger', async (environment) => {
			const { debugTurn } = await import('./episodeDebugger.ts');
			const asked = { file: this.#place.file, environment, branch: session.branch(id), turn };
			await this.#debugged(asked, debugTurn);
		});
	}

	protected override onCommand(command: EpisodeCommand): void {
		const session = this.#session;
		switch (command.type) {
			case 'ready':
				session.begin();
				break;
			case 'reset':
				session.reset(command);
				break;
			case 'call':
				session.call(command);
				break;
			case 'reward':
			case 'replay':
			case 'remove':
				session[command.type](command.branch);
				break;
			case 'stop':
			case 'restart':
				session[command.type]();
				break;
			case 'debug':
				this.debug(command.branch, command.turn);
				break;
			case 'save':
				this.save(command.branch).catch((error: unknown) => this.#needs.notices.failure(error));
				break;
			case 'openFile':
				this.#openFile(command.line).catch((error: unknown) => this.#needs.notices.failure(error));
				break;
			case 'trust':
				void vscode.commands.executeCommand('workbench.trust.manage');
				break;
			case 'fault':
				this.log.error(`episode: ${command.message}`);
				break;
		}
	}

	/**
	 * Asks once for consent to run code from a package or from a run that this user did not start, or to use a server.
	 */
	async #requireAgreed(): Promise<void> {
		const { file, runFolder } = this.#place;
		if (this.#agreed) return;
		if (runFolder === null) await requireLibrary(file);
		else {
			const { requireRunEnvironment } = await import('./rolloutEpisodes.ts');
			await requireRunEnvironment(runFolder, file, agreeForeignCode);
		}
		this.#agreed = true;
	}

	/** Reads rows from the file's dataset, the run, or the library. */
	async #data(signal: AbortSignal, opened: () => Promise<EnvironmentRunner>): Promise<EnvironmentData> {
		const { file, runFolder } = this.#place;
		if (runFolder === null) {
			const own = async (count: number) => await (await opened()).rows(count);
			return await environmentData({ file, ...rows, signal, ...(isEnvironmentFile(file) ? {} : { own }) });
		}
		const { environmentOfRun } = await import('./rolloutEpisodes.ts');
		const without = (remarks: readonly string[]) => ({ described: null, rows: [], remarks, files: [] });
		try {
			const { dataset } = await environmentOfRun(runFolder);
			return dataset === null ? without([]) : await environmentData({ file, dataset, ...rows, signal });
		} catch (error) {
			if (signal.aborted) throw error;
			return without([Failure.from(error).toString()]);
		}
	}

	/** Resolves once the debugger is running, so the view stays usable. */
	#debugged(asked: DebuggedTurn, debugTurn: DebugTurn): Promise<void> {
		const { environments, notices } = this.#needs;
		return new Promise((resolve, reject) => {
			let running = false;
			const started = () => {
				running = true;
				resolve();
			};
			debugTurn(asked, environments.debugger, started).then(
				(result) => {
					if (result !== null) void notices.information(displayText(result, 400));
				},
				(error: unknown) => (running ? notices.failure(error) : reject(error)),
			);
		});
	}

	async #openFile(line: number | null): Promise<void> {
		const { file } = this.#place;
		if (isServerAddress(file)) return;
		try {
			const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
			const at = Math.max(0, Math.min((line ?? 1) - 1, document.lineCount - 1));
			await vscode.window.showTextDocument(document, {
				viewColumn: vscode.ViewColumn.Beside,
				...(line === null ? {} : { selection: new vscode.Range(at, 0, at, 0) }),
			});
		} catch (error) {
			throw Failure.from(error, `Cannot open ${file}`);
		}
	}
}

export function episodeTitle({ file }: EpisodePlace): string {
	const name = isServerAddress(file) ? file : basename(isManifest(file) ? dirname(file) : file);
	return `Episode: ${displayText(name, 60)}`;
}

/** Asks whether a restored view may start a package or use a server. Fails with `denied`. */
async function requireLibrary(file: string): Promise<void> {
	const what = isServerAddress(file) ? 'will connect to' : 'will run the code of';
	const place = isServerAddress(file) ? file : dirname(file);
	const answer = await vscode.window.showWarningMessage(
		`The restored episode view ${what} ${displayText(place, 200)}.`,
		{ modal: true },
		{ title: 'Continue' },
	);
	if (answer === undefined) throw new Failure('denied', 'The environment was not started.', 'Use Restart to start it.');
}

function forbidden(): string | null {
	return vscode.workspace.isTrusted ? null : 'Environments are disabled because this workspace is not trusted.';
}
