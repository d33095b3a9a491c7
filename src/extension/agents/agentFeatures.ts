import type * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import type { Notices } from '../notices.ts';
import type { OpenViews } from '../openViews.ts';
import { Addresses } from './addresses.ts';
import { AgentViews } from './agentViews.ts';
import { type ChatModelNeeds, ChatModels } from './chatModels.ts';
import { EditorRequests } from './editorRequests.ts';
import { LanguageModelTools } from './languageModelTools.ts';
import { McpServers } from './mcpServers.ts';
import { openAddress } from './openAddress.ts';
import { ReportNotices } from './reportNotices.ts';

interface Manifest {
	readonly version: string;
	readonly contributes?: { readonly languageModelTools?: ConstructorParameters<typeof LanguageModelTools>[2] };
}

/** All features that give agents access to runs or link their text to runs. Loaded after activation. */
export class AgentFeatures extends Disposable {
	readonly servers: McpServers;
	readonly requests: EditorRequests;
	readonly addresses: Addresses;

	readonly chatModels: ChatModels;
	readonly reportNotices: ReportNotices;
	readonly #views: AgentViews;
	readonly #notices: Notices;

	constructor(
		{ extensionUri, extension, globalStorageUri }: vscode.ExtensionContext,
		needs: Omit<ChatModelNeeds, 'extension' | 'notices'>,
		notices: Notices,
		open: OpenViews,
		log: (message: string) => void,
	) {
		super();
		const { version, contributes } = extension.packageJSON as Manifest;
		const { store } = needs;
		this.#views = new AgentViews(open);
		this.#notices = notices;
		this.requests = this.register(
			new EditorRequests({
				...{ storage: globalStorageUri, notices, views: this.#views, log },
				openAddress: (address) => openAddress(address, store),
			}),
		);
		const { folder } = this.requests;
		this.servers = this.register(new McpServers(extensionUri, version, folder));
		this.addresses = this.register(new Addresses());
		this.chatModels = this.register(new ChatModels({ ...needs, notices, extension: extensionUri }));
		this.reportNotices = this.register(new ReportNotices(notices, log));
		this.register(new LanguageModelTools(extensionUri, folder, contributes?.languageModelTools ?? []));
	}
	/** Undoes the view that an agent opened most recently. */
	async undoView(): Promise<void> {
		if (!(await this.#views.back())) {
			await this.#notices.information('No agent has opened a view since the last undo.');
		}
	}
}
