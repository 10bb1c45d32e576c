# frozen_string_literal: true

require "skep/control"
require "skep/error_place"
require "skep/plugin"
require "skep/web/errors"
require "skep/web/dependencies"

# The page that shows running swarms, live, and controls them: a Rack application, which needs the
# gems rack and rack-session.
#
#   run Skep::Web.new                                # config.ru: all swarms of this user, read-only
#   run Skep::Web.new("billing", user: "ada", password: "…")       # after a login ada may act
#   mount Skep::Web.new { |env| env["warden"].user&.admin? } => "/skep"  # Rails: which user may act
#
# http/ has requests and responses; auth/ decides what a visitor may do; live/ sends open pages what
# changes, from the swarms' control sockets, and only while a page is open; dead_letters/ reads dead
# letter topics, and replays and purges them. Without a password or a block the page is read-only.
# Each action is reported on `rack.errors`.
module Skep
  ErrorPlace.add(File.expand_path("..", __dir__))

  class Web
    # names: swarms of this user; none: all of them. control: the path of a control socket, or
    # several. hosts: the host names that requests may have; nil: any. secret: the key of cookies,
    # where several processes serve the page. proxies: addresses or networks of proxies whose
    # X-Forwarded-For is believed. every: seconds between two polls of a swarm. dead_letters: dead
    # letter topics to show, each with librdkafka's settings for its cluster. The block gets the
    # env of a request, and returns the name of a user that may act, true, or nil.
    def initialize(*names, control: nil, user: nil, password: nil, hosts: nil, secret: nil,
                   proxies: [], every: 2.0, dead_letters: nil, &authorizer)
      @trusted_proxies = HTTP::TrustedProxies.new(proxies)
      @authentication = Auth::Authentication.for(secret:, user:, password:, authorizer:)
      @hosts = hosts&.map(&:downcase)
      @registry = SwarmRegistry.new(names, [*control])
      @broadcaster = Live::Broadcaster.new(@registry, every)
      @authentication.on_logout { |session_id| @broadcaster.disconnect(session_id) }
      @dead_letters = dead_letters_of(dead_letters)
    end

    # Rack's: returns status, headers and body.
    def call(env)
      request = HTTP::Request.new(env, @trusted_proxies)
      status, headers, body = *respond(request)
      request.head? ? [status, headers.except("rack.hijack"), []] : [status, headers, body]
    end

    # Stops its threads and closes open pages. Interrupts a replay or purge of dead letters.
    def close
      @broadcaster.close
      @dead_letters&.close
    end

    private

    # Raises ArgumentError where the page is made.
    def dead_letters_of(topics)
      DeadLetters.for(topics)
    rescue ArgumentError => e
      raise ArgumentError, e.message, caller.drop_while { |line| line.start_with?(__FILE__) }
    end

    def respond(request)
      check_host(request)
      case request.request_method
      when "GET", "HEAD" then show(request)
      when "POST" then perform(request)
      else raise RequestRefused.new(405, "only GET, HEAD and POST are supported")
      end
    rescue RequestRefused => e
      HTTP::Response.text(e.status, e.message)
    end

    # Refuses a host name that `hosts` lacks. The name of another site may resolve to this server
    # (DNS rebinding), and a page of that site would be treated as ours.
    def check_host(request)
      return if @hosts.nil? || @hosts.include?(request.host)

      raise RequestRefused.new(403, "this page isn't called #{request.host.inspect}: " \
                                    "`skep web --host NAME` allows a name")
    end

    def show(request)
      return HTTP::Assets.call(request.env) if HTTP::Assets.include?(request.route)

      session = @authentication.session(request)
      case request.route
      when "/" then page(request, session)
      when "/live" then live(request, session)
      when "/threads" then HTTP::Response.json(200, threads(request, session))
      when "/event" then HTTP::Response.json(200, event(request, session))
      when "/dead_letters", "/dead_letters/messages" then dead_letters(request, session)
      else raise no_such_route(request)
      end
    end

    def perform(request)
      session = @authentication.session(request)
      request.same_origin? or raise RequestRefused.new(403, "another site's page has sent this")
      case request.route
      when "/login" then @authentication.login(request, session)
      when "/logout" then @authentication.logout(request, session)
      when "/actions"
        HTTP::Response.json(200, Action.new(@registry, request, session).perform)
      when "/dead_letters"
        @dead_letters&.perform(request, session) || raise(no_such_route(request))
      else raise no_such_route(request)
      end
    end

    def no_such_route(request)
      RequestRefused.new(404, "there is no #{request.route.inspect} here")
    end

    def page(request, session)
      template, parts = session.reads? ? [:page, { dead_letters: @dead_letters }] : [:login, {}]
      HTTP::Templates.public_send(template, request, session, **parts).tap do |response|
        @authentication.set_cookies(request, response, session)
      end
    end

    def live(request, session)
      check_reader(session)
      Live::SseEndpoint.respond(@broadcaster, request, session)
    end

    # Returns what is known of a node's threads: at its last hang, and when backtraces were
    # requested.
    def threads(request, session)
      check_reader(session)
      swarm, node = request.query.values_at("swarm", "node")
      { hang: @registry.node(swarm, node)["last_hang"],
        asked: @broadcaster.backtraces(swarm, node) }
    end

    # Returns all facts of an event.
    def event(request, session)
      check_reader(session)
      swarm, seq, time = request.query.values_at("swarm", "seq", "time")
      @broadcaster.event(swarm, Integer(seq.to_s, 10, exception: false), time) or
        raise RequestRefused.new(404, "the page keeps this event no more: see the log")
    end

    def dead_letters(request, session)
      check_reader(session)
      raise no_such_route(request) unless @dead_letters
      return @dead_letters.letters(request) unless request.route == "/dead_letters"

      HTTP::Response.json(200, @dead_letters.show(request))
    end

    def check_reader(session)
      session.reads? or raise RequestRefused.new(401, "log in first")
    end
  end
end

require "skep/web/http/request"
require "skep/web/http/trusted_proxies"
require "skep/web/http/response"
require "skep/web/http/assets"
require "skep/web/http/templates"
require "skep/web/auth/session"
require "skep/web/auth/signed_cookie"
require "skep/web/auth/login_throttle"
require "skep/web/auth/authentication"
require "skep/web/auth/password_authentication"
require "skep/web/swarm_registry"
require "skep/web/action"
require "skep/web/live/connection_limit"
require "skep/web/live/time_series"
require "skep/web/live/bounded_facts"
require "skep/web/live/event_buffer"
require "skep/web/live/json_merge_patch"
require "skep/web/live/swarm_presenter"
require "skep/web/live/swarm_poller"
require "skep/web/live/sse_connection"
require "skep/web/live/sse_endpoint"
require "skep/web/live/broadcaster"
require "skep/web/dead_letters"
