import type * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import type { Notices } from '../notices.ts';
import { Addresses } from './addresses.ts';
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

	constructor(
		{ extensionUri, extension, globalStorageUri }: vscode.ExtensionContext,
		needs: Omit<ChatModelNeeds, 'extension' | 'notices'>,
		notices: Notices,
		log: (message: string) => void,
	) {
		super();
		const { version, contributes } = extension.packageJSON as Manifest;
		const { store } = needs;
		const open = (address: string) => openAddress(address, store);
		this.requests = this.register(new EditorRequests({ storage: globalStorageUri, notices, openAddress: open, log }));
		const { folder } = this.requests;
		this.servers = this.register(new McpServers(extensionUri, version, folder));
		this.addresses = this.register(new Addresses());
		this.chatModels = this.register(new ChatModels({ ...needs, notices, extension: extensionUri }));
		this.register(new ReportNotices(notices));
		this.register(new LanguageModelTools(extensionUri, folder, contributes?.languageModelTools ?? []));
	}
}
