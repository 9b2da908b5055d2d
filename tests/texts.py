"""Our own texts in many scripts, two of each: one to set a weight by, one to test it."""

TEXTS: dict[str, tuple[str, str]] = {
    "English": (
        "The ferry leaves the harbour at half past seven, and whoever misses it has to wait for "
        "the next morning. Nobody in the village minds; there is always soup on the stove.",
        "I looked at the old map again. Somebody had drawn a small lighthouse where there is only "
        "a field today, and underneath, in pencil: ask my sister about the winter of the storm!",
    ),
    "German": (
        "Die Fähre legt um halb acht im Hafen ab, und wer sie versäumt, muss bis zum nächsten "
        "Morgen warten. Im Dorf stört das niemanden, auf dem Herd steht immer eine Suppe.",
        "Ich habe mir die alte Landkarte noch einmal angesehen. Jemand hat einen kleinen "
        "Leuchtturm eingezeichnet, wo heute nur eine Wiese ist, und darunter: Frag meine "
        "Schwester danach!",
    ),
    "Polish": (
        "Prom odpływa z portu o wpół do ósmej, a kto się spóźni, musi czekać do następnego ranka. "
        "W wiosce nikomu to nie przeszkadza, bo na kuchence zawsze stoi zupa.",
        "Jeszcze raz obejrzałem starą mapę. Ktoś narysował małą latarnię morską w miejscu, gdzie "
        "dziś jest tylko łąka, a pod spodem napisał ołówkiem: zapytaj moją siostrę.",
    ),
    "Russian": (
        "Паром уходит из гавани в половине восьмого, и кто опоздает, будет ждать до следующего "
        "утра. В деревне это никого не беспокоит: на плите всегда стоит суп.",
        "Я ещё раз посмотрел на старую карту. Кто-то нарисовал маленький маяк там, где сегодня "
        "только поле, а внизу карандашом написано: спроси мою сестру о той зиме.",
    ),
    "Greek": (
        "Το πλοίο φεύγει από το λιμάνι στις επτάμισι και όποιος το χάσει πρέπει να περιμένει ως το "
        "επόμενο πρωί. Κανείς στο χωριό δεν ενοχλείται, πάντα υπάρχει σούπα στη φωτιά.",
        "Κοίταξα ξανά τον παλιό χάρτη. Κάποιος είχε ζωγραφίσει έναν μικρό φάρο εκεί όπου σήμερα "
        "είναι μόνο ένα χωράφι, και από κάτω με μολύβι: ρώτα την αδελφή μου για τον χειμώνα.",
    ),
    "Hebrew": (
        "המעבורת יוצאת מהנמל בשבע וחצי, ומי שמפספס אותה צריך לחכות עד הבוקר הבא. לאף אחד בכפר זה "
        "לא מפריע, תמיד יש מרק על הכיריים.",
        "הסתכלתי שוב במפה הישנה. מישהו צייר מגדלור קטן במקום שבו יש היום רק שדה, ומתחתיו בעיפרון: "
        "תשאל את אחותי על החורף של הסערה.",
    ),
    "Arabic": (
        "تغادر العبارة الميناء في السابعة والنصف، ومن يتأخر عنها عليه أن ينتظر حتى صباح الغد. لا "
        "أحد في القرية ينزعج من ذلك، فهناك دائما حساء على الموقد.",
        "نظرت إلى الخريطة القديمة مرة أخرى. رسم أحدهم منارة صغيرة في المكان الذي لا يوجد فيه اليوم "
        "سوى حقل، وكتب تحتها بقلم الرصاص: اسأل أختي عن شتاء العاصفة.",
    ),
    "Hindi": (
        "नाव साढ़े सात बजे बंदरगाह से निकलती है, और जो उसे चूक जाता है उसे अगली सुबह तक इंतज़ार करना पड़ता "
        "है। गाँव में किसी को बुरा नहीं लगता, चूल्हे पर हमेशा दाल रहती है।",
        "मैंने पुराना नक्शा फिर से देखा। किसी ने वहाँ एक छोटा प्रकाशस्तंभ बनाया था जहाँ आज केवल एक खेत है, "
        "और नीचे पेंसिल से लिखा था: मेरी बहन से उस सर्दी के बारे में पूछो।",
    ),
    "Thai": (
        "เรือข้ามฟากออกจากท่าตอนเจ็ดโมงครึ่ง ใครมาไม่ทันต้องรอถึงเช้าวันรุ่งขึ้น "
        "ไม่มีใครในหมู่บ้านว่าอะไร เพราะมีซุปอยู่บนเตาเสมอ",
        "ฉันดูแผนที่เก่าอีกครั้ง มีคนวาดประภาคารเล็กๆ ไว้ตรงที่วันนี้มีแต่ทุ่งนา "
        "และข้างล่างเขียนด้วยดินสอว่า ถามพี่สาวฉันเรื่องฤดูหนาวปีนั้น",
    ),
    "Chinese": (
        "渡船七点半离开港口,谁错过了就得等到第二天早上。村里没有人在意,炉子上总有一锅汤。",
        "我又看了看那张旧地图。有人在今天只有一片田野的地方画了一座小灯塔,下面用铅笔写着:去问我姐姐那年冬天的事。",
    ),
    "Japanese": (
        "フェリーは七時半に港を出ます。乗り遅れた人は翌朝まで待たなければなりません。"
        "村では誰も気にしません。コンロの上にはいつもスープがあります。",
        "古い地図をもう一度見ました。今は畑しかない場所に、誰かが小さな灯台を描いていて、"
        "その下に鉛筆で「嵐の冬のことは姉に聞いて」と書いてありました。",
    ),
    "Korean": (
        "배는 일곱 시 반에 항구를 떠나고, 놓친 사람은 다음 날 아침까지 기다려야 한다. 마을에서는 "
        "아무도 신경 쓰지 않는다. 난로 위에는 언제나 국이 있다.",
        "나는 낡은 지도를 다시 보았다. 오늘은 들판만 있는 자리에 누군가 작은 등대를 그려 놓았고, "
        "그 아래에 연필로 그해 겨울에 대해 누나에게 물어보라고 적혀 있었다.",
    ),
    "Georgian": (
        "ბორანი ნავსადგურს რვის ნახევარზე ტოვებს და ვინც დააგვიანებს, დილამდე უნდა დაიცადოს.",
        "ძველ რუკას კიდევ ერთხელ დავხედე. ვიღაცას პატარა შუქურა დაუხატავს იქ, სადაც დღეს ველია.",
    ),
    "Tamil": (
        "படகு ஏழரை மணிக்கு துறைமுகத்தை விட்டு புறப்படும், தவறவிட்டவர் மறுநாள் காலை வரை காத்திருக்க வேண்டும்.",
        "நான் பழைய வரைபடத்தை மீண்டும் பார்த்தேன். இன்று வயல் மட்டும் உள்ள இடத்தில் யாரோ விளக்கு வரைந்திருந்தார்கள்.",
    ),
    "decomposed Vietnamese": (
        "Chuyến phà rời bến lúc bảy giờ rưỡi, ai lỡ thì phải chờ đến sáng hôm sau.",
        "Tôi nhìn lại tấm bản đồ cũ. Ai đó đã vẽ một ngọn hải đăng nhỏ ở nơi nay chỉ là đồng.",
    ),
    "emoji": (
        "ok 😂😂😂 see you 🎉 bring 🍕🍕 and 🐈 ❤️ 👍🏽 🏴‍☠️ 👩‍🚀 🙈",
        "no way 😱😱 that is 🔥🔥🔥 ... 🥳🎂 for 🐕‍🦺 and ✨ 💀 👀 🙏🏿 🇳🇴",
    ),
    "Python": (
        "def ferry_times(day: date, *, stops: int = 3) -> list[time]:\n    if day.weekday() >= 5:\n"
        "        return []\n    first = time(hour=7, minute=30)\n    return [first] * stops\n",
        "class Lighthouse(Building):\n    def __init__(self, height_m: float) -> None:\n"
        "        self._height_m = height_m\n        self.lamps = {n: Lamp(n) for n in range(4)}\n",
    ),
    "JSON": (
        '{"ferry":{"id":"b7-33","leaves":"07:30","stops":[1,2,5],"open":true},"soup":null,'
        '"prices":[{"kind":"adult","eur":12.5},{"kind":"child","eur":6.25}]}',
        '[{"name":"north pier","lat":54.1731,"lon":12.0923,"lit":false},{"name":"old light",'
        '"lat":54.2210,"lon":12.1477,"lit":true,"since":1871}]',
    ),
    "figures": (
        "2026-11-30 07:30:00, 12.50, 6.25, 1048576, 3.14159265, +49 381 5550123, 192.0.2.17",
        "id 884213377120, total 1,299.00; 54.1731 12.0923; 1871-03-14T22:15:07Z; 0x1f4b; 65535",
    ),
}
