"""A Discord on loopback that keeps real channels, misbehaves on demand, and can be looked at.

    with DiscordDouble(scale=0.05) as discord:        # double.py
        channel = discord.add_channel()
        discord.break_with(FAULTS["a post fails and was done"])     # faults.py
        ...                                           # speak to discord.url with discord.token
        discord.visible(channel)                      # what people see; deleted() what is gone
        print(discord.transcript(channel))
        discord.press(message_id, custom_id, url=endpoint, manner="forged")

Read in the order: `places`, `message` and `interaction` (what there is), `state` (all of it),
`problem` (what is refused), `*_rules` and `message_form` (what may be sent), `*_routes` and
`routes` (what can be called), `limits`, `buckets` and `toll` (how often), `fault`, `faults` and
`breakage` (what goes wrong), `desk` (in which order all this meets a request), `signing`,
`interaction_json` and `presses` (people at the buttons), `double` (the front). The sockets are
those of the wall.

It speaks JSON only: no uploads, no gateway, no forums, no slowmode.
"""
