# frozen_string_literal: true

# A page that shows running swarms, live, and steers them: a Rack application that needs no gem.
#
#   run Skep::Web.new                                # config.ru: all of this user's, to look at
#   run Skep::Web.new("billing", user: "ada", password: "…")       # to act as well, after a login
#   mount Skep::Web.new { |env| env["warden"].user&.admin? } => "/skep"    # Rails: who may act?
#
# It asks only the swarms' status sockets, by one thread for all open pages, and only while a page
# is open (Hub). Nobody may act unless a password or a block is given. Who acts is told on
# `rack.errors`.
module Skep
  module Watch
    class Web
      # What isn't answered as asked: an HTTP status and a sentence.
      class Refused < Skep::Error
        attr_reader :status #: Integer, HTTP's

        def initialize(status, sentence)
          @status = status
          super(sentence)
        end
      end

      # names: swarms of this user's, all where there are none; control: the path of a socket, or
      # several; hosts: by which names it may be called, any where nil; secret: what cookies are
      # signed with where several processes serve the page; proxies: addresses, or networks, of
      # proxies whose X-Forwarded-For is believed; every: seconds from one look at a swarm
      # to the next. The block is given each request's env and says who may act.
      #
      #: (*String, ?control: String | Array[String] | nil, ?user: String?, ?password: String?,
      #:   ?hosts: Array[String]?, ?secret: String?, ?proxies: Array[String], ?every: Numeric)
      #:   ?{ (Hash) -> untyped } -> void
      def initialize(*names, control: nil, user: nil, password: nil, hosts: nil, secret: nil,
                     proxies: [], every: 2.0, &who)
        @proxies = Proxies.new(proxies)
        @badges = Badges.new(secret)
        @access = Access.for(@badges, user, password, who)
        @hosts = hosts&.map(&:downcase)
        @swarms = Swarms.new(names, [*control])
        @hub = Hub.new(@swarms, every)
        @access.left { |cookie| @hub.leave(cookie) }
      end

      # Rack's: a status, headers and a body.
      def call(env) #: (Hash[String, untyped]) -> [Integer, Hash, untyped]
        request = Request.new(env, @proxies)
        reply = answer(request)
        request.head? ? [reply[0], reply[1].except("rack.hijack"), []] : reply
      rescue Refused => e
        Reply.text(e.status, e.message)
      end

      # Ends its thread and lets go of open pages.
      def close = @hub.close #: () -> void

      private

      def answer(request)
        called_by_name(request)
        case request.method
        when "GET", "HEAD" then show(request)
        when "POST" then take(request)
        else raise Refused.new(405, "only GET, HEAD and POST are understood")
        end
      end

      # Another site's name that leads here, as by DNS rebinding, would make its page ours.
      def called_by_name(request)
        return if @hosts.nil? || @hosts.include?(request.host_name)

        raise Refused.new(403, "this page isn't called #{request.host_name.inspect}: " \
                               "`skep web --host NAME` allows a name")
      end

      def show(request)
        file = Files[request.path]
        return Reply.file(file, request.header("IF_NONE_MATCH")) if file

        visitor = @access.visitor(request)
        case request.path
        when "/" then page(request, visitor)
        when "/live" then live(request, visitor)
        when "/threads" then Reply.json(200, threads(request, visitor))
        else raise Refused.new(404, "there is no #{request.path.inspect} here")
        end
      end

      def take(request)
        visitor = @access.visitor(request)
        request.ours? or raise Refused.new(403, "another site's page has sent this")
        case request.path
        when "/login" then @access.login(request, visitor)
        when "/logout" then @access.logout(request, visitor)
        when "/deeds" then Reply.json(200, Deed.new(@swarms, request, visitor).perform)
        else raise Refused.new(404, "there is no #{request.path.inspect} here")
        end
      end

      def page(request, visitor)
        return Shell.login(request, visitor) unless visitor.reads?

        Shell.page(request, visitor, @access.remember(request, visitor))
      end

      def live(request, visitor)
        reader(visitor)
        Stream.reply(@hub, request, visitor)
      end

      # What was found out about a node's threads when it was taken for hung, or on request.
      def threads(request, visitor)
        reader(visitor)
        name, node = %w[swarm node].map { |key| request.query(key) }
        { hang: @swarms.node(name, node)["last_hang"], asked: @hub.backtraces(name, node) }
      end

      def reader(visitor)
        visitor.reads? or raise Refused.new(401, "log in first")
      end
    end
  end
end

%w[proxies request reply files badges visitor attempts access shell swarms deed
   series pace processor view partitions patch news wire sight places page stream
   hub].each do |part|
  require "skep/watch/web/#{part}"
end
