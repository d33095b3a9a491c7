import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { type EnvironmentData, environmentData } from '../../../episodes/environmentData.ts';
import { EnvironmentRunner } from '../../../episodes/environmentRunner.ts';
import {
	type EpisodeCommand,
	type EpisodeEvent,
	episodeCommandSchema,
	episodeRequests,
} from '../../../protocol/episodeMessages.ts';
import { verifiedRows } from '../../environments/environmentSession.ts';
import type { EnvironmentWorkbench } from '../../environments/environmentWorkbench.ts';
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

/** Rows to choose from. The first ones drawn with this seed are those of verification in the editor. */
const rows = { ...verifiedRows, rows: 100 } as const;

/** A panel that steps through episodes of one environment. */
export class EpisodePanel extends AppPanel<EpisodeEvent, EpisodeCommand, typeof episodeRequests> {
	readonly #needs: EpisodePanelNeeds;
	readonly #place: EpisodePlace;
	readonly #session: EpisodeViewSession;
	/** Whether the user has agreed to run the run's code. */
	#agreed = false;
	protected readonly handlers: RequestHandlers<typeof episodeRequests>;

	constructor(panel: vscode.WebviewPanel, needs: EpisodePanelNeeds, place: EpisodePlace, started: StartedView) {
		super(panel, needs, app);
		this.#needs = needs;
		this.#place = place;
		const { file } = place;
		const { environments } = needs;
		this.#session = this.register(
			new EpisodeViewSession(
				{
					file,
					runFolder: place.runFolder,
					open: async () => {
						await this.#requireAgreed();
						const hosts = await environments.hosts(file);
						return new EnvironmentRunner(hosts, file, { seed: 1, limits: environments.limits(file) });
					},
					data: (signal) => this.#data(signal),
					post: (event) => void this.post(event),
					forbidden,
					debugs: true,
					saves: place.runFolder === null,
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

	/** Asks once whether the code of a run that this user did not start may be run. */
	async #requireAgreed(): Promise<void> {
		const { file, runFolder } = this.#place;
		if (runFolder === null || this.#agreed) return;
		const { requireRunEnvironment } = await import('./rolloutEpisodes.ts');
		await requireRunEnvironment(runFolder, file, agreeForeignCode);
		this.#agreed = true;
	}

	/** Reads the rows of the file's dataset or, for a run's copy, of the run's. */
	async #data(signal: AbortSignal): Promise<EnvironmentData> {
		const { file, runFolder } = this.#place;
		if (runFolder === null) return await environmentData({ file, ...rows, signal });
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

	/** Resolves once the debugger runs, so that the view stays usable. */
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
	return `Episode: ${displayText(basename(file), 60)}`;
}

function forbidden(): string | null {
	return vscode.workspace.isTrusted ? null : 'Environments are disabled because this workspace is not trusted.';
}
