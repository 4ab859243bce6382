"""Words that answers are made of and that say nothing about any record."""

from pipelines.core.english.stems import stem
from pipelines.core.simulation.reading.words import word_set

NEUTRAL = frozenset(
    stem(word)
    for word in word_set(
        # said around a fact, without adding one
        "done set all great good news happy glad pleased pleasure welcome hope hopefully morning "
        "evening afternoon day regards sincerely best kind kindly warm cheers appreciate patience "
        "understand understood understanding further question questions concern concerns hesitate "
        "reach contact here help support confirm confirmed confirmation detail details information "
        "info summary follow following follows below above successfully success properly "
        "quickly gladly actually indeed certainly absolutely course perfect wonderful nice enjoy wait "
        "moment look looked looking check checked checking review reviewed see found find show shows "
        "take taken care handle handled mention mentioned say says said tell told inform note aware "
        "remember everything nothing something anything account name new old previous original total "
        "amount date time today now way thing things item entry customer case went gone put "
        "place placed came come back requested record records file system "
        "list listed include included including regarding concerning about update updated change "
        "changed currently still two both either hear love delighted safe wish wishes "
        "lovely goes go comes make makes bring brings run runs remain remains left less than more top "
        "another also each per unit altogether together combined overall "
        "just exactly only right correct sorted yours mine stay stays "
        "able want wanted wants latest quick short long recap result "
        "shown according page line lines number reference ref id mr mrs ms dr sir madam team yes "
        "stand stands stood sit sits sitting let lets seem seems appear appears "
        "become became feel feels think believe know knows guess suppose mean means matter happen "
        "happened occur occurred turn turns finish finished continue give gives spoke speak talk "
        "answer answered ask reply worry worries mind like prefer try tried manage managed deal sort "
        "sound sounds watch read point compare compared cost costs equal equals add "
        "adds sum count counts differ match matches fit belong depend depends relate hold holds spend "
        "spending far ago present presently down up off away around again apart aside precisely "
        "simply merely nearly almost quite rather pretty fairly totally straight "
        "directly immediately instantly promptly smoothly safely annoying frustrating unfortunate "
        "inconvenient inconvenience sad bad fine big small high low own same different various "
        "several few clear clearly easy simple bit lot part side fact issue problem trouble reason "
        "person people guy folks money price figure figures oh ah well "
        "okay hey though anyway meanwhile finally lastly "
        "thereby thus hence therefore since because namely respectively hand "
        "heads worth meantime shall thought thoughts idea peace heart rest assured thanks bye "
        "goodbye lucky luck congratulations sense wise otherwise regard "
        "whatever whenever anytime through along among between until till toward towards behind beside "
        "under upon onto across against during except despite regardless whether latter former whose "
        "somebody someone anybody anyone everybody everyone nobody myself yourself itself themselves "
        "due start starts begin begins extra instead previously formerly originally earlier later "
        "rest oops alas yep nope yeah ok please dear folks there them then this these those oh "
        "morning noon night second moment soon long way ways bring much amounting amount amounts "
        "total totals totalling totaling comes coming came sum equals ending marked mark "
        "expects expect stays stayed remain remaining lies lie falls fall reads read shows show knock "
        "drops drop goes go pick picked touch touched untouched leave leaves sorry afraid annoyed"
    )
)
