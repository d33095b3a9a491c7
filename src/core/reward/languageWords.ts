import type { LanguageName } from '../../protocol/recipeKeys/builtInRewards.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/**
 * Closed-class words (articles, pronouns, prepositions, conjunctions, forms of "to be") in the languages that use the
 * Latin script. They are few but frequent in any text, so they identify the language of a sentence. Words that are
 * frequent in English with a different meaning (die, hat, also, pour, come, on) are omitted from the other lists.
 */
export const closedClassWords: Readonly<Partial<Record<LanguageName, ReadonlySet<string>>>> = {
	en: words(
		'the of and to is are that it we you in for this be with have has so not was were from what which if but then let by on at as or an do does will would there they he she his her my your our their its how when where who because can could should must also than these those been both each into about',
	),
	de: words(
		'der das und ist nicht ein eine einen einem einer ich wir sie er es mit auf für von dem den des zu zum zur auch wird werden sind oder aber wenn dann dass wie noch nur durch bei aus nach über kann muss haben sich im am an als so jetzt alle diese dieser dieses weil daher',
	),
	fr: words(
		"le la les des est une un et pas que qui dans avec je nous vous il elle ce cette ces donc sont mais ou où du au aux en ne se si plus comme sur par leur être on c'est d'un d'une qu'il l'on n'est alors aussi tout cela ainsi puis",
	),
	es: words(
		'el los las es una un unos y que por para con del al se pero como más está están porque entonces cuando si su sus lo le en la de este esta esto hay también ser muy donde cada sobre entre ya dos nos',
	),
	it: words(
		'il lo gli è una un che di con del della delle dei non si ma più sono questo questa quindi perché anche nel nella e la le da in i al alla ha ho abbiamo poi dove quando ci cui essere ogni tra',
	),
	pt: words(
		'o os é uma um que de da das dos em para com não se mas mais por isso então são está quando também na no nas nos ao à e a como ou seu sua este esta temos cada entre muito porque essa esse pelo pela dois três',
	),
	nl: words(
		'de het een en van is niet dat ik wij we te op voor met zijn maar ook als dan naar dus er aan om bij uit nog wel hebben heeft wordt worden deze dit zo kan moet kunnen wat hoe waar of omdat door over',
	),
};
